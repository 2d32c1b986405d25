import type { GatewayLimits } from '../limits.ts'
import { exchange, type Exchanged } from '../../../lib/mcp/bridge/exchange.ts'
import { longestWaitSeconds } from '../../../lib/mcp/longest-wait.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import type { Timer } from '../../../lib/util/time.ts'
import type { Caller } from '../../mcp/tools/tool.ts'
import { answeredError, unreachable } from './relay-errors.ts'
import type { Upstream } from './upstream.ts'

/** A call that waits for a change ends by itself before. */
const waitMs = longestWaitSeconds * 1000 + 15_000
/** Any other tool: an application draws a picture in some seconds. */
const toolMs = 30_000
/** A picture for a model is smaller. */
const maxAnswerBytes = 16 * 1024 * 1024
const progressToken = 1
/** Waits for a change at the same time, and as many other calls: waits last long. */
const maxOpenCalls = 256

interface CallsParts {
  readonly instanceId: string
  readonly upstream: Upstream
  readonly timer: Timer
  readonly limits: Pick<GatewayLimits, 'instanceAnswerMs'>
}

export type Call = [
  method: string,
  params: JsonObject,
  caller?: Partial<Pick<Caller, 'reader' | 'progress'>>,
]

/** Requests to one instance whose answers are taken apart here: tools and completions. */
export class InstanceCalls {
  readonly #parts: CallsParts
  readonly #open = { waits: 0, calls: 0 }
  #lastId = 0

  constructor(parts: CallsParts) {
    this.#parts = parts
  }

  /** The result; rejects with a `ServiceError`. */
  async ask(...call: Call): Promise<JsonObject> {
    const [method, params] = call
    const kind = isWait(method, params) ? 'waits' : 'calls'
    if (this.#open[kind] >= maxOpenCalls) {
      throw new ServiceError('limit_reached', `${maxOpenCalls} ${kind} of the instance are open`, {
        hint: 'try again later',
      })
    }
    this.#open[kind]++
    try {
      return await this.#ask(...call)
    } finally {
      this.#open[kind]--
    }
  }

  async #ask(...[method, params, { reader, progress } = {}]: Call): Promise<JsonObject> {
    const { instanceId, upstream, timer } = this.#parts
    const cancelled = new AbortController()
    const release = onAbort(reader?.signal, () =>
      cancelled.abort(new ServiceError('cancelled', 'the caller has left')),
    )
    const id = `call-${++this.#lastId}`
    const meta = isJsonObject(params._meta) ? params._meta : {}
    const asked = progress ? { ...params, _meta: { ...meta, progressToken } } : params
    const answerMs = this.#answerMs(method, params)
    // An instance that only notifies is never silent.
    const cancelDeadline = timer.after(answerMs, () =>
      cancelled.abort(unreachable('it does not answer')),
    )
    const answers: { readonly result: JsonObject | null; readonly error: unknown }[] = []
    let ended: Exchanged
    try {
      ended = await exchange(
        await upstream.asker(),
        {
          ...upstream.request(id, method, asked, { answerMs, signal: cancelled.signal }),
          maxAnswerBytes,
        },
        {
          async deliver({ messages }) {
            for (const message of messages) {
              if (message.kind === 'response' && message.id === id) answers.push(message)
              else if (message.kind === 'notification') report(message.params, progress)
            }
          },
        },
      )
    } finally {
      cancelDeadline()
      release()
    }
    const [answer] = answers
    if (answer?.result) return answer.result
    if (answer !== undefined) throw answeredError(answer.error, `instance://${instanceId}/`)
    if (ended.kind === 'aborted') throw cancelled.signal.reason
    if (ended.kind === 'refused') upstream.refused(ended.status)
    throw unreachable(ended.kind === 'broken' ? ended.reason : whyNot[ended.kind])
  }

  #answerMs(method: string, params: JsonObject): number {
    if (method !== 'tools/call') return this.#parts.limits.instanceAnswerMs
    return isWait(method, params) ? waitMs : toolMs
  }
}

function isWait(method: string, { name }: JsonObject): boolean {
  return method === 'tools/call' && name === 'wait_for_change'
}

const whyNot = {
  ended: 'it gave no answer',
  oversize: 'its answer is too large',
  refused: 'it refuses the request',
} as const

function report(params: JsonObject, progress: Caller['progress'] | undefined): void {
  const { progressToken: token, progress: done, total, message } = params
  if (token !== progressToken || typeof done !== 'number' || typeof total !== 'number') return
  progress?.report(done, total, typeof message === 'string' ? message : '')
}
