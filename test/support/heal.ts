import type { RunningStack } from './stack.js';

type Services = Pick<RunningStack, 'payment' | 'inventory'>;

/** Takes every fault back from both services; calls that they hold stay held. */
export async function takeFaultsBack({ payment, inventory }: Services): Promise<void> {
  await Promise.all([payment.faults([]), inventory.faults([])]);
}

/** Leaves both services without a fault and without a call that they hold. */
export async function heal(services: Services): Promise<void> {
  await takeFaultsBack(services);
  await Promise.all([services.payment.release(), services.inventory.release()]);
}
