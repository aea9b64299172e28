import { http } from '@google-cloud/functions-framework';
import { reconcile } from './reconcile.ts';
import { sweep } from './sweep.ts';

// Every deployable target is registered here; which one an instance serves is the framework's --target.
http('reconcile', reconcile);
http('sweep', sweep);
