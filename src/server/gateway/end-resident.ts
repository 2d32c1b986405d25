import { stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { errnoOf } from '../../lib/errno.ts'
import { findPortHolder } from '../../lib/port-holder.ts'
import { ownUid } from '../../lib/posix.ts'
import { isRunning, processStart } from '../../lib/process-start.ts'
import type { Resident } from './resident.ts'

export interface EndOutcome {
  readonly ended: boolean
  /** A sentence for people. */
  readonly reason: string
}

/** What the system says of the process that is to be ended. */
export interface ProcessFacts {
  /** The process that listens on the port; null when the system does not say. */
  readonly holderPid: number | null
  /** Of the process that the resident says it is, now; null when the system does not say. */
  readonly startedNow: string | null
  readonly uid: number | null
  readonly ownUid: number | null
  readonly ownPid: number
}

/**
 * Why a process must not be ended; null when it may be. What is to be ended is the gateway that
 * wrote itself down: the very process that listens, not one that has its pid since.
 */
export function whyNotEnd(claim: Resident, facts: ProcessFacts): string | null {
  const { pid, pidStart } = claim
  if (facts.holderPid === null || facts.startedNow === null || facts.uid === null) {
    return 'this system does not say which process has the port'
  }
  if (facts.holderPid !== pid) return `process ${facts.holderPid} has the port, and is no gateway`
  if (pidStart === null || facts.startedNow !== pidStart) {
    return `process ${pid} is not the one that was the gateway`
  }
  if (facts.uid !== facts.ownUid) return `process ${pid} belongs to another user`
  if (pid === facts.ownPid) return 'it is this process'
  return null
}

export interface EndOptions {
  readonly port: number
  /** What the folder says who has the port: the claim that is checked. */
  readonly claim: Resident | null
  /** Between the signal that asks and the one that does not. */
  readonly graceMs: number
}

const lookEveryMs = 20

/** Ends a gateway that answers nobody; every fact is looked at again before each signal. */
export async function endResident({ port, claim, graceMs }: EndOptions): Promise<EndOutcome> {
  if (claim === null) return { ended: false, reason: 'it did not write down which process it is' }
  const { pid } = claim
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const facts = await readFacts(port, pid)
    const gone = !isRunning(pid) || (signal === 'SIGKILL' && facts.holderPid !== pid)
    if (gone) return { ended: true, reason: `process ${pid} let go of the port` }
    const why = whyNotEnd(claim, facts)
    if (why !== null) return { ended: false, reason: why }
    try {
      process.kill(pid, signal)
    } catch (error) {
      return { ended: false, reason: `process ${pid} cannot be ended (${errnoOf(error)})` }
    }
    if (await endsWithin(pid, graceMs))
      return { ended: true, reason: `${signal} to process ${pid}` }
  }
  return { ended: false, reason: `process ${pid} does not end` }
}

async function endsWithin(pid: number, graceMs: number): Promise<boolean> {
  const end = performance.now() + graceMs
  while (isRunning(pid)) {
    if (performance.now() > end) return false
    await delay(lookEveryMs)
  }
  return true
}

async function readFacts(port: number, pid: number): Promise<ProcessFacts> {
  const [holder, startedNow, found] = await Promise.all([
    findPortHolder(port),
    processStart(pid),
    stat(`/proc/${pid}`).catch(() => null),
  ])
  return {
    holderPid: holder?.pid ?? null,
    startedNow,
    uid: found?.uid ?? null,
    ownUid: ownUid(),
    ownPid: process.pid,
  }
}
