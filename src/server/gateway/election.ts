import { setTimeout as delay } from 'node:timers/promises'
import { decide, type ElectionEvent, type ElectionRules, firstTry } from './election-state.ts'
import type { HolderProbe } from './holder-probe.ts'
import type { Resident } from './resident.ts'

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
  readonly tell: (event: ElectionEvent) => void
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
      const pauseMs = step.soon ? minPauseMs : parts.retryMs
      // Somebody who lets go of every connection at once must not keep this one busy.
      woken = await pause(pauseMs, woken ? null : probe.lost(), signal)
    }
  } finally {
    probe.close()
  }
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
