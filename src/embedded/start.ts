/** Process: `npm start`, the whole stack on this machine. */
import { launch } from './launcher.js';
import { programOf } from './programs.js';
import { stopOnSignal } from './stop-on-signal.js';

const say = (line: string): void => console.log(line);

process.exit(await launch({ env: process.env, programOf, say, signal: stopOnSignal(say) }));
