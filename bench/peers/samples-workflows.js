/** The workflow of `samples.js`: the saga sample's, for this order. */
import { ActivityFailure, ApplicationFailure, proxyActivities } from '@temporalio/workflow';

const { charge, reserve, refund } = proxyActivities({ startToCloseTimeout: '10 seconds' });

export async function placeOrder({ order, hash }) {
  const compensations = [];
  try {
    await charge(order);
    compensations.unshift(() => refund(order));
    await reserve(order);
    return { order, hash, outcome: { answerVersion: 1, status: 'confirmed' } };
  } catch (error) {
    if (!(error instanceof ActivityFailure && error.cause instanceof ApplicationFailure))
      throw error;
    for (const compensate of compensations) await compensate();
    const outcome = { answerVersion: 1, status: 'cancelled', reason: error.cause.message };
    return { order, hash, outcome };
  }
}
