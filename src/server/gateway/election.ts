import { setTimeout as delay } from 'node:timers/promises'
import { decide, type ElectionEvent, type ElectionRules, firstTry } from './election-state.ts'
import type { HolderProbe } from './holder-probe.ts'
import type { EndOutcome } from './end-resident.ts'
import type { Resident } from './resident.ts'

/** What happens until somebody has the port, in the order in which it happens. */
export type ElectionNews =
  | ElectionEvent
  | { readonly event: 'resident_replaced'; readonly resident: Resident; readonly reason: string }
  | { readonly event: 'replacement_refused'; readonly resident: Resident; readonly reason: string }

export interface Elected<Won> {
  readonly won: Won
  /** The gateway it stood by behind, which is gone; null when there was none. */
  readonly from: Resident | null
}

/** Nobody was elected: what has the port, and a gateway if that is what it is. */
export class ElectionLost extends Error {
  readonly resident: Resident | null

  constructor(reason: string, resident: Resident | null) {
    super(reason)
    this.resident = resident
  }
}

export interface ElectionParts<Won> {
  readonly rules: ElectionRules
  readonly retryMs: number
  /** Binding the port is the election. Null: it is taken. */
  readonly bind: () => Promise<Won | null>
  readonly probe: HolderProbe
  readonly end: (resident: Resident) => Promise<EndOutcome>
  readonly tell: (news: ElectionNews) => void
  readonly signal: AbortSignal
}

/** Between two tries, whatever happens. */
const minPauseMs = 20

/**
 * Settles when the port is bound. Rejects with `ElectionLost` where the rules do not let it wait,
 * and with the reason of `signal` once that is aborted.
 */
export async function elect<Won>(parts: ElectionParts<Won>): Promise<Elected<Won>> {
  const { rules, probe, tell, signal } = parts
  let state = firstTry
  let woken = false
  try {
    // Ended by the signal, if by nothing else.
    for (;;) {
      signal.throwIfAborted()
      const won = await parts.bind()
      if (won !== null) return { won, from: state.resident }
      const decision = decide(state, await probe.look(), rules)
      state = decision.state
      for (const event of decision.events) tell(event)
      const { step } = decision
      if (step.kind === 'refuse') throw new ElectionLost(step.reason, step.resident)
      if (step.kind === 'replace') await replace(parts, step.resident)
      const pauseMs = step.kind === 'again' && !step.soon ? parts.retryMs : minPauseMs
      // Somebody who lets go of every connection at once must not keep this one busy.
      woken = await pause(pauseMs, woken ? null : probe.lost(), signal)
    }
  } finally {
    probe.close()
  }
}

async function replace<Won>(parts: ElectionParts<Won>, resident: Resident): Promise<void> {
  const outcome = await parts.end(resident)
  const event = outcome.ended ? 'resident_replaced' : 'replacement_refused'
  parts.tell({ event, resident, reason: outcome.reason })
}

/** Resolves with true when it was cut short because the holder let go. */
async function pause(
  delayMs: number,
  lost: Promise<void> | null,
  signal: AbortSignal,
): Promise<boolean> {
  const over = new AbortController()
  const both = AbortSignal.any([over.signal, signal])
  // Keeps the process alive: to wait is all that it does.
  const timed = delay(delayMs, false, { signal: both }).catch(() => false)
  try {
    return await (lost === null ? timed : Promise.race([timed, lost.then(() => true)]))
  } finally {
    over.abort()
  }
}
