import { InvalidMessageError } from '../errors.ts';

/** A JSON object of which nothing is known yet. */
export type Json = Readonly<Record<string, unknown>>;

/** Parses text that must be a JSON object. @throws {InvalidMessageError} */
export function parseObject(text: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid('it is not JSON', error);
  }
  if (!isObject(value)) throw invalid('it is not a JSON object');
  return value;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The readers below take the parent and the full path of the field, so that a complaint tells where it is.
 *
 * @throws {InvalidMessageError} `cannot decode message: field 'key.kind' is missing`
 */
export function objectField(parent: Json, path: string): Json {
  const value = required(parent, path);
  if (!isObject(value)) throw invalid(`field '${path}' is not an object`);
  return value;
}

export function arrayField(parent: Json, path: string): readonly unknown[] {
  const value = required(parent, path);
  if (!Array.isArray(value)) throw invalid(`field '${path}' is not an array`);
  return value;
}

export function textField(parent: Json, path: string): string {
  const value = required(parent, path);
  if (typeof value !== 'string') throw invalid(`field '${path}' is not a string`);
  return value;
}

export function filledTextField(parent: Json, path: string): string {
  const value = textField(parent, path);
  if (value === '') throw invalid(`field '${path}' is empty`);
  return value;
}

/** A whole number from 0 up to what JSON carries exactly. */
export function countField(parent: Json, path: string): number {
  const value = required(parent, path);
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw invalid(`field '${path}' is not a whole number`);
  }
  return value;
}

/** The field as it is; undefined when it is missing or null. */
export function optionalField(parent: Json, name: string): unknown {
  return parent[name] ?? undefined;
}

export function invalid(why: string, cause?: unknown): InvalidMessageError {
  return new InvalidMessageError(`cannot decode message: ${why}`, { cause });
}

function required(parent: Json, path: string): unknown {
  const name = path.slice(path.lastIndexOf('.') + 1);
  const value = optionalField(parent, name);
  if (value === undefined) throw invalid(`field '${path}' is missing`);
  return value;
}
