import { setTimeout as delay } from 'node:timers/promises'
import type { HolderProbe } from './holder-probe.ts'
import type { ActiveGateway } from './active-gateway.ts'

export interface Elected<Won> {
  readonly won: Won
  /** The gateway it stood by behind, which is gone; null when there was none. */
  readonly from: ActiveGateway | null
}

/** The election failed: what holds the port, and the gateway when it is one. */
export class ElectionLost extends Error {
  readonly active: ActiveGateway | null

  constructor(reason: string, active: ActiveGateway | null) {
    super(reason)
    this.active = active
  }
}

interface ElectionParts<Won> {
  readonly rules: ElectionRules
  readonly retryMs: number
  /** Binding the port is the election. Null: it is taken. */
  readonly bind: () => Promise<Won | null>
  readonly probe: HolderProbe
  readonly tell: (event: ElectionEvent) => void
  readonly signal: AbortSignal
}

/** Between two tries. */
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
      if (won !== null) return { won, from: state.active }
      const decision = decide(state, await probe.look(), rules)
      state = decision.state
      for (const event of decision.events) tell(event)
      const { step } = decision
      if (step.kind === 'refuse') throw new ElectionLost(step.reason, step.active)
      const pauseMs = step.soon ? minPauseMs : parts.retryMs
      // A program that drops every connection at once must not keep this loop busy.
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

/** What holds the port that cannot be bound. */
export type Holder =
  | { readonly kind: 'gateway'; readonly active: ActiveGateway }
  /** Accepts connections and does not answer in time. `active`: by the state directory. */
  | { readonly kind: 'silent'; readonly active: ActiveGateway | null }
  /** Answers as no gateway does. */
  | { readonly kind: 'stranger'; readonly answer: string }
  /** Takes no connection, or cuts it: on its way out, more often than not. */
  | { readonly kind: 'free' }

export interface ElectionRules {
  /** Waits behind another gateway. */
  readonly standby: boolean
  /** Waits behind any program: the port is not what this process is for. */
  readonly patient: boolean
  /** Probes without an answer, in a row, that make a holder silent. */
  readonly maxActiveProbeFailures: number
}

export interface ElectionState {
  /** The gateway it stands by behind; null as long as none was seen. */
  readonly active: ActiveGateway | null
  readonly silentProbes: number
  readonly emptyTries: number
  /** What was said of the holder last, so that it is said once. */
  readonly said: 'unresponsive' | 'stranger' | null
  /** It waited behind a gateway before. */
  readonly standsBy: boolean
}

export type ElectionEvent =
  /** Another gateway is active: this one waits. */
  | { readonly event: 'contention'; readonly active: ActiveGateway }
  | { readonly event: 'resident_unresponsive'; readonly active: ActiveGateway }
  | { readonly event: 'resident_recovered'; readonly active: ActiveGateway }
  | { readonly event: 'port_taken'; readonly reason: string }

type Step =
  /** Try again: at once, or after the usual pause. */
  | { readonly kind: 'again'; readonly soon: boolean }
  | { readonly kind: 'refuse'; readonly active: ActiveGateway | null; readonly reason: string }

export interface Decision {
  readonly state: ElectionState
  readonly step: Step
  readonly events: readonly ElectionEvent[]
}

export const firstTry: ElectionState = {
  active: null,
  silentProbes: 0,
  emptyTries: 0,
  said: null,
  standsBy: false,
}

/** A free port that cannot be bound is between two gateways; this many tries wait for that. */
const maxEmptyTries = 10

const soon: Step = { kind: 'again', soon: true }
const later: Step = { kind: 'again', soon: false }

/** What to do about a port that is taken, by all that was seen of its holder. */
export function decide(state: ElectionState, holder: Holder, rules: ElectionRules): Decision {
  switch (holder.kind) {
    case 'gateway':
      return behindGateway(state, holder.active, rules)
    case 'silent':
      return behindSilence(state, holder, rules)
    case 'stranger':
      return behindStranger(state, holder.answer, rules)
    case 'free': {
      const next = { ...state, silentProbes: 0, emptyTries: state.emptyTries + 1 }
      if (next.emptyTries < maxEmptyTries) return { state: next, step: soon, events: [] }
      return behindStranger(next, 'takes no connection', rules)
    }
  }
}

function behindGateway(
  state: ElectionState,
  active: ActiveGateway,
  rules: ElectionRules,
): Decision {
  const next = { ...firstTry, active, standsBy: true }
  if (!rules.standby) {
    const reason = 'another gateway has the port'
    return { state: next, step: { kind: 'refuse', active, reason }, events: [] }
  }
  if (state.active?.instanceId !== active.instanceId) {
    return { state: next, step: later, events: [{ event: 'contention', active }] }
  }
  const recovered = state.said === 'unresponsive'
  const events: ElectionEvent[] = recovered ? [{ event: 'resident_recovered', active }] : []
  return { state: next, step: later, events }
}

function behindSilence(
  state: ElectionState,
  holder: Holder & { kind: 'silent' },
  rules: ElectionRules,
): Decision {
  const active = holder.active ?? state.active
  const silentProbes = state.silentProbes + 1
  const next = { ...state, active, silentProbes, emptyTries: 0 }
  if (silentProbes < rules.maxActiveProbeFailures) return { state: next, step: soon, events: [] }
  const silence = 'accepts connections and does not answer'
  if (active === null) return behindStranger(next, silence, rules)
  const told = state.said === 'unresponsive'
  const events: ElectionEvent[] = told ? [] : [{ event: 'resident_unresponsive', active }]
  const said = { ...next, said: 'unresponsive' as const, standsBy: rules.standby }
  if (rules.standby) return { state: said, step: later, events }
  const reason = `the gateway that has the port ${silence}`
  return { state: said, step: { kind: 'refuse', active, reason }, events }
}

/** A standby keeps waiting while an unrelated program holds the port. */
function behindStranger(state: ElectionState, reason: string, rules: ElectionRules): Decision {
  const { active } = state
  if (!rules.patient && !state.standsBy) {
    return { state, step: { kind: 'refuse', active, reason }, events: [] }
  }
  const told = state.said === 'stranger'
  const events: ElectionEvent[] = told ? [] : [{ event: 'port_taken', reason }]
  return { state: { ...state, said: 'stranger' }, step: later, events }
}
