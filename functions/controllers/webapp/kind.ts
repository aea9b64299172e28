import { z } from 'zod';
import { defineKind } from '../../../shared/crd/define-kind.ts';
import { AGE_COLUMN, conditionColumn } from '../../../shared/crd/printer-column.ts';
import type { ObjectOf } from '../../../shared/kube/kind.ts';
import { PHASES } from '../../../shared/readiness/phase.ts';

const DNS_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const spec = z
  .object({
    image: z.string().min(1).describe('The container image to run: "nginx:1.29".'),
    replicas: z.int().min(0).max(100).default(1).describe('How many copies run at once.'),
    port: z.int().min(1).max(65535).default(8080).describe('The port that the container listens on.'),
    host: z
      .string()
      .max(253)
      .regex(DNS_NAME)
      .optional()
      .describe('The DNS name that an Ingress routes here: "web.example.com". Without it there is no Ingress.'),
    tlsSecretName: z
      .string()
      .max(253)
      .regex(DNS_NAME)
      .optional()
      .describe('A Secret of type kubernetes.io/tls for the host. Without it the host is served over plain HTTP.'),
  })
  .meta({
    description: 'What should run.',
    'x-kubernetes-validations': [
      {
        rule: '!has(self.tlsSecretName) || has(self.host)',
        message: 'tlsSecretName needs a host: TLS ends at the Ingress, and only a host has one',
        fieldPath: '.tlsSecretName',
      },
    ],
  });

const status = z
  .object({
    phase: z.enum(PHASES).describe('Where the app is in its life, in one word.'),
    readyReplicas: z.int().min(0).describe('How many copies are ready to serve.'),
    url: z.string().describe('Where the app is served.'),
  })
  .describe('What runs.');

/** A stateless web application: a Deployment, a Service and, with a host, an Ingress. */
export const WebApp = defineKind({
  group: 'apps.driftless.dev',
  kind: 'WebApp',
  shortNames: ['wa'],
  categories: ['driftless'],
  description: 'A stateless web application: a Deployment, a Service and, with a host, an Ingress.',
  versions: {
    v1: {
      storage: true,
      schema: spec,
      status,
      rules: [
        {
          rule: "self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",
          message:
            'metadata.name must fit a Service: at most 63 lower-case letters, digits and hyphens, beginning with a letter',
        },
      ],
      printerColumns: [
        { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
        conditionColumn('Ready'),
        { name: 'Replicas', type: 'integer', jsonPath: '.status.readyReplicas' },
        { name: 'URL', type: 'string', jsonPath: '.status.url' },
        { name: 'Image', type: 'string', jsonPath: '.spec.image', priority: 1 },
        AGE_COLUMN,
      ],
    },
  },
});

export type WebApp = ObjectOf<typeof WebApp>;
