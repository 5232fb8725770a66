import type { StepRecord } from './order.js';

/**
 * Says in words where an order's money is, as far as its payment tells.
 *
 * @param amount ready to be read, with its currency.
 */
export function moneyAtStake(
  amount: string,
  { state, compensationState }: Pick<StepRecord, 'state' | 'compensationState'>,
): string {
  switch (compensationState) {
    case 'done':
      return `nothing is held; a charge of ${amount} was returned or barred`;
    case 'resolved':
      return `a person has settled ${amount}`;
    case 'stuck':
      return `**${amount} may be held and can not be returned without a person**`;
    case 'pending':
    case 'running':
      return `${amount} may be held and is being returned`;
    case 'none':
  }
  switch (state) {
    case 'done':
      return `${amount} charged`;
    case 'running':
    case 'unknown':
      return `${amount} may be charged`;
    case 'pending':
    case 'refused':
      return 'nothing is held';
  }
}
