/** One column of `kubectl get`, as `additionalPrinterColumns` has it. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  /** From the object's root: `.status.phase`. */
  readonly jsonPath: string;
  readonly description?: string;
  /** 0 is always shown, more only with `-o wide`. @default 0 */
  readonly priority?: number;
}

/** The status of a condition: True, False or Unknown. */
export function conditionColumn(type: string): PrinterColumn {
  return { name: type, type: 'string', jsonPath: `.status.conditions[?(@.type=="${type}")].status` };
}

/** Tables of custom columns leave the age out unless it is named. */
export const AGE_COLUMN: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
