import { http } from '@google-cloud/functions-framework';
import { startInstance } from './instance.ts';
import { reconcileWith } from './reconcile.ts';
import { sweepWith } from './sweep.ts';

const instance = startInstance();

// Every deployable target is registered here; which one an instance serves is the framework's --target.
http('reconcile', reconcileWith(instance));
http('sweep', sweepWith(instance));
