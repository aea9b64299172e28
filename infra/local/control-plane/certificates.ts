// The library below registers its parts by decorators, which need this at load time.
import 'reflect-metadata';
import { generateKeyPairSync, KeyObject, randomBytes, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** A certificate and its private key, both as PEM. */
export interface Identity {
  readonly certificate: string;
  readonly key: string;
}

interface IdentityRequest {
  /** The user's name, for a client of the API server. */
  readonly commonName: string;
  /** The user's groups. */
  readonly organizations?: readonly string[];
  /** DNS names and IP addresses that a server is reached by. A request without any is for a client. */
  readonly hosts?: readonly string[];
}

/** A certificate authority whose key never leaves this process. */
export interface Authority {
  /** PEM. */
  readonly certificate: string;
  issue(request: IdentityRequest): Promise<Identity>;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 60 * 60 * 1000;
const VALID_DAYS = 30;

/** @param now when the certificates begin to be valid; a day of slack covers a clock that was set back */
export async function createAuthority(commonName: string, now: Date): Promise<Authority> {
  const keys = await generateKeys();
  const validity = {
    notBefore: new Date(now.getTime() - DAY_MS),
    notAfter: new Date(now.getTime() + VALID_DAYS * DAY_MS),
  };
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: nameOf({ commonName }),
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });

  return {
    certificate: root.toString('pem'),
    async issue(request) {
      const own = await generateKeys();
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        subject: nameOf(request),
        issuer: root.subject,
        ...validity,
        signingAlgorithm: ALGORITHM,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          ...usageOf(request),
          await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
        ],
      });
      return { certificate: certificate.toString('pem'), key: toPem(own.privateKey) };
    },
  };
}

/** The key that signs service account tokens, as PEM (SEC 1: the API server derives no public key from PKCS #8). */
export function createSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'sec1', format: 'pem' }).toString();
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

function usageOf({ hosts }: IdentityRequest): readonly x509.Extension[] {
  if (hosts === undefined) return [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])];
  return [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension(
      hosts.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value })),
    ),
  ];
}

function nameOf({ commonName, organizations = [] }: IdentityRequest): x509.JsonName {
  return [...organizations.map((organization) => ({ O: [organization] })), { CN: [commonName] }];
}

/** Positive and at most 20 octets (RFC 5280, 4.1.2.2). */
function serialNumber(): string {
  return `01${randomBytes(15).toString('hex')}`;
}

function toPem(key: webcrypto.CryptoKey): string {
  return KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }).toString();
}
