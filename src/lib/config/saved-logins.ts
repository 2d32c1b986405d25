import type { Secret } from '../util/secret.ts'

export {
  onlyLogin,
  savedLogin,
  withLogin,
  withoutLogin,
  withoutTokens,
  withTokens,
} from './config-file.ts'

/** Whether these are the same token, or both absent. */
export function isSameToken(one: Secret | undefined, other: Secret | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.equals(other.reveal())
}
