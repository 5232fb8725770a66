import type { FastifyRequest } from 'fastify';
import { Problem } from '../http/problem.js';
import { holdsCardData, holdsCardNumber } from './card-data.js';
import { API_PROBLEMS } from './problems.js';

/**
 * A hook for `preValidation`: refuses card data wherever a request has it, also where a schema would refuse it for
 * another reason. Who sends it must hear that, before they put it where it is taken.
 *
 * @param keyOf reads what is kept of the headers.
 * @param mayHold tells of a path in the body, such as `.items[].sku`, that it may look like card data.
 * @throws Problem `card-data-refused`
 */
export function refuseCardData(
  keyOf: (request: FastifyRequest) => string = () => '',
  mayHold: (path: string) => boolean = () => false,
) {
  // eslint-disable-next-line @typescript-eslint/require-await -- so a refusal goes the way of errors
  return async (request: FastifyRequest): Promise<void> => {
    if (holdsCardNumber(keyOf(request)) || holdsCardData(request.body, mayHold))
      throw new Problem(API_PROBLEMS['card-data-refused']);
  };
}
