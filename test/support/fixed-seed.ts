import fc from 'fast-check';

/**
 * Loaded into every test process. A property test finds something new when somebody looks for it, with another
 * `DRIFTLESS_SEED`, and not in the middle of somebody else's change.
 */
fc.configureGlobal({ seed: Number(process.env['DRIFTLESS_SEED'] ?? 1) });
