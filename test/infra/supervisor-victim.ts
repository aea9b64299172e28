import { Supervisor } from '../../infra/local/supervisor/supervisor.ts';
import { shellPart } from './supervisor-shell-part.ts';

// A stack of two parts, one with a grandchild, that nobody ever stops: the test kills this process.
const supervisor = new Supervisor();
const pids: string[] = [];
supervisor.onLine((_part, line) => pids.push(line));
await supervisor.start(shellPart('plain', 'trap "" TERM; echo $$; while :; do sleep 1; done'));
await supervisor.start(shellPart('family', 'sleep 600 & echo $!; echo $$; wait'));
while (pids.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
console.log(JSON.stringify({ directory: supervisor.directory, pids: pids.map(Number) }));
