import type { StructuralSchema } from './structural-schema.ts';

/**
 * `status.conditions`, with the limits of `metav1.Condition` (apimachinery, meta/v1/types.go).
 *
 * A list map, so that writers of different conditions do not replace each other's under server-side apply.
 */
export const CONDITIONS_SCHEMA: StructuralSchema = {
  type: 'array',
  description: 'What is true of the object at the moment, one entry per type.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: {
        type: 'string',
        description: 'What the condition is about, in CamelCase.',
        maxLength: 316,
        pattern:
          '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
      },
      status: { type: 'string', description: 'Whether it is so.', enum: ['True', 'False', 'Unknown'] },
      reason: {
        type: 'string',
        description: 'Why, in one CamelCase word for machines.',
        minLength: 1,
        maxLength: 1024,
        pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
      },
      message: { type: 'string', description: 'Why, in a sentence for people.', maxLength: 32768 },
      lastTransitionTime: { type: 'string', description: 'When status last changed.', format: 'date-time' },
      observedGeneration: {
        type: 'integer',
        description: 'The metadata.generation that the condition was concluded from.',
        format: 'int64',
        minimum: 0,
      },
    },
  },
};
