import type { Readable, Writable } from 'node:stream'
import type { Logger } from '../../util/logger.ts'
import type { Secret } from '../../util/secret.ts'
import type { Timer } from '../../util/time.ts'
import { type BridgeContext, type Locate, shownUrl } from './context.ts'
import { Conversation } from './conversation.ts'
import { ByteBudget } from './byte-budget.ts'
import { HttpLink } from './http-link.ts'
import { type BridgeLimits, defaultBridgeLimits } from './limits.ts'
import { type Line, LineSplitter } from './line-splitter.ts'
import { Output } from './output.ts'

export interface BridgeParts {
  readonly input: Readable
  readonly output: Writable
  /** Finds the endpoint. */
  readonly locate: Locate
  /**
   * Receives a function to call when `locate` returns another endpoint while the old one still
   * works.
   */
  readonly onMoved?: (moved: () => void) => void
  /** Sent as Bearer to that endpoint. */
  readonly key: Secret | null
  /** Holds the proxy variables. */
  readonly env: NodeJS.ProcessEnv
  /** Replaced by tests. */
  readonly limits?: BridgeLimits
  readonly timer: Timer
  /** 0…1 */
  readonly random: () => number
  readonly log: Logger
}

/**
 * Forwards messages between a client on stdio and an MCP endpoint on HTTP. Resolves when the client
 * closed stdin or stdout, or soon after `stop` is aborted.
 */
export async function runBridge(parts: BridgeParts, stop: AbortSignal): Promise<void> {
  const { limits = defaultBridgeLimits, timer, random, log, key, env, input } = parts
  let pid: number | undefined
  const locate: Locate = async () => {
    const place = await parts.locate()
    if (place.ok) pid = place.value.pid
    return place
  }
  const overdue = (url: URL): void =>
    log.warn({ url: shownUrl(url), pid }, 'the server has not answered for 5 seconds')
  const context: BridgeContext = {
    link: new HttpLink({ limits, key, env, timer, overdue }),
    output: new Output(parts.output),
    budget: new ByteBudget(limits.maxHeldBytes),
    limits,
    timer,
    random,
    log,
    keyed: key !== null,
  }
  const conversation = new Conversation(context, locate)
  parts.onMoved?.(() => conversation.moved())
  const stopped = new AbortController()
  const stopReading = (): void => {
    stopped.abort()
    input.destroy()
  }
  if (stop.aborted) stopReading()
  stop.addEventListener('abort', stopReading)
  void context.output.closed.then(stopReading)
  try {
    await readLines(input, limits.maxLineBytes, line => {
      const taken = conversation.take(line)
      // A stop ends the wait for a client that does not read.
      return taken === null ? null : untilAborted(taken, stopped.signal)
    })
    await conversation.end(stop)
  } finally {
    stop.removeEventListener('abort', stopReading)
    context.link.close()
  }
}

async function readLines(
  input: Readable,
  maxBytes: number,
  take: (line: Line) => Promise<void> | null,
): Promise<void> {
  const splitter = new LineSplitter(maxBytes)
  try {
    for await (const chunk of input) {
      for (const line of splitter.push(chunk as Buffer)) await take(line)
    }
    for (const line of splitter.end()) await take(line)
  } catch {
    // The bridge destroyed the stream, or it broke.
  }
}

/** Resolves when the work is done or the signal is aborted. */
function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    if (signal.aborted) done()
    signal.addEventListener('abort', done)
    void work.then(done)
  })
}
