import type { SessionState } from './account-store.ts'

/**
 * What a refresh token with this counter is worth.
 * `rotate`: the current one. `repeat`: the one before, within the grace time: its holder did not
 * get the answer, or two processes asked at once. `reused`: an older one, so two hold the session
 * and one of them stole it. `ended`: there is no such living session.
 */
type RefreshDecision = 'rotate' | 'repeat' | 'reused' | 'ended'

export function decideRefresh(
  counter: number,
  state: SessionState | null,
  nowMs: number,
  graceMs: number,
): RefreshDecision {
  if (state === null || !isAlive(state, nowMs)) return 'ended'
  const { session } = state
  if (counter === session.counter) return 'rotate'
  const isPrevious = counter === session.counter - 1
  const inGrace = session.rotatedAtMs !== null && nowMs - session.rotatedAtMs < graceMs
  // A counter ahead of ours was made after the copy that this database was restored from: who
  // holds the session since then cannot be known either.
  return isPrevious && inGrace ? 'repeat' : 'reused'
}

/** Whether the session may still be used: not over, not ended, its account not disabled. */
export function isAlive({ session, account }: SessionState, nowMs: number): boolean {
  return (
    session.revokedAtMs === null && nowMs < session.expiresAtMs && account.disabledAtMs === null
  )
}
