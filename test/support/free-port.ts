export { freePort } from '../../src/embedded/free-port.js';
