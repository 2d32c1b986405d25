import { ByteBudget } from '../../../lib/mcp/bridge/byte-budget.ts'
import { exchange } from '../../../lib/mcp/bridge/exchange.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { Timer } from '../../../lib/util/time.ts'
import type { Caller } from '../../mcp/tools/tool.ts'
import type { Instances } from './instances.ts'
import { answeredError, unreachable } from './relay-errors.ts'

/** A tool may wait for a change, at most 45 s. */
const answerMs = 60_000
/** A picture for a model is smaller. */
const maxAnswerBytes = 16 * 1024 * 1024
const maxHeldBytes = 64 * 1024 * 1024
const progressToken = 1
/** Calls of one instance at the same time; most of them wait for a change. */
const maxOpenCalls = 256

interface CallsParts {
  readonly instances: Instances
  readonly timer: Timer
  readonly log: Logger
}

type Call = [
  method: string,
  params: JsonObject,
  caller?: Partial<Pick<Caller, 'reader' | 'progress'>>,
]

/** Requests to instances whose answers are taken apart here: tools and completions. */
export class InstanceCalls {
  readonly #parts: CallsParts
  readonly #budget = new ByteBudget(maxHeldBytes)
  readonly #open = new Map<string, number>()
  #lastId = 0

  constructor(parts: CallsParts) {
    this.#parts = parts
  }

  /** The result; rejects with a `ServiceError`. */
  async ask(instanceId: string, ...call: Call): Promise<JsonObject> {
    const open = this.#open.get(instanceId) ?? 0
    if (open >= maxOpenCalls) {
      throw new ServiceError('limit_reached', `${maxOpenCalls} calls of the instance are open`, {
        hint: 'try again later',
      })
    }
    this.#open.set(instanceId, open + 1)
    try {
      return await this.#ask(instanceId, ...call)
    } finally {
      const left = (this.#open.get(instanceId) ?? 1) - 1
      if (left > 0) this.#open.set(instanceId, left)
      else this.#open.delete(instanceId)
    }
  }

  async #ask(
    instanceId: string,
    ...[method, params, { reader, progress } = {}]: Call
  ): Promise<JsonObject> {
    const { instances, timer, log } = this.#parts
    instances.assertThere(instanceId)
    const { upstream } = instances.relayTo(instanceId)
    const left = new AbortController()
    const stay = reader?.onLeave(() => left.abort(new ServiceError('cancelled', 'the caller left')))
    const id = `call-${++this.#lastId}`
    const asked = progress ? { ...params, _meta: { progressToken } } : params
    const answers: { readonly result: JsonObject | null; readonly error: unknown }[] = []
    const ended = await exchange(
      {
        ...{ link: await upstream.link(), limits: { maxAnswerBytes }, budget: this.#budget },
        ...{ timer, log, silenceMs: answerMs },
      },
      upstream.request(id, method, asked, { answerMs, signal: left.signal }),
      {
        async deliver({ messages }) {
          for (const message of messages) {
            if (message.kind === 'response' && message.id === id) answers.push(message)
            else if (message.kind === 'notification') tell(message.params, progress)
          }
          return answers.length === 0
        },
      },
    )
    stay?.()
    const [answer] = answers
    if (answer?.result) return answer.result
    if (answer !== undefined) throw answeredError(answer.error, `instance://${instanceId}/`)
    const why = ended.kind === 'broken' ? ended.reason : whyNot[ended.kind]
    throw (await instances.goneNow(instanceId)) ?? unreachable(why)
  }
}

const whyNot = {
  ended: 'it gave no answer',
  oversize: 'its answer is too large',
  refused: 'it refuses the request',
  aborted: 'the caller has left',
} as const

function tell(params: JsonObject, progress: Caller['progress'] | undefined): void {
  const { progressToken: token, progress: done, total, message } = params
  if (token !== progressToken || typeof done !== 'number') return
  progress?.report(done, Number(total), String(message))
}
