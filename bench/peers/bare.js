/** A route that does nothing: what HTTP alone costs with this server and this client. */
import Fastify from 'fastify';

const { port } = JSON.parse(process.argv[2]);
const app = Fastify();
app.post('/orders', (_request, reply) => reply.code(201).send({ status: 'confirmed' }));
app.get('/readyz', () => ({ status: 'ready' }));
await app.listen({ host: '127.0.0.1', port });
process.once('SIGTERM', () => void app.close().then(() => process.exit(0)));
