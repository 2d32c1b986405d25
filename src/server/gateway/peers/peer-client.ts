import type { IncomingHttpHeaders } from 'node:http'
import { instanceHeader } from '../../../lib/instances/gateway-key.ts'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import type { HttpAnswer, HttpAsk, HttpAsker, HttpLink } from '../../../lib/mcp/bridge/http-link.ts'
import type { LinkClient } from '../join/link-client.ts'
import type {
  AnswerReceiver,
  Arriving,
  ReadRequest,
  ReadSender,
} from '../relay/instance-transport.ts'
import { AnswerTimeout, type ReadLink } from '../relay/read-link.ts'
import { peerRefusals } from './peer-endpoint.ts'

interface PeerClientParts {
  /** Where the other gateway answers for the instance. */
  readonly root: string
  readonly link: HttpLink
  readonly reads: ReadLink
  /** Finds the link again after it has moved; null: it was found again once already. */
  readonly locate: (() => Promise<LinkClient | PeerClient>) | null
}

const { secret, notHeld, cut, late } = peerRefusals
const reasons: ReadonlyMap<number, string> = new Map([
  [secret, 'another gateway has its address'],
  [notHeld, 'it does not hold the link'],
  [cut, 'the link was cut'],
  [late, 'it does not answer'],
])

/** Requests to one instance through the gateway that holds its link. */
export class PeerClient implements HttpAsker, ReadSender {
  readonly #parts: PeerClientParts

  constructor(parts: PeerClientParts) {
    this.#parts = parts
  }

  async ask(options: HttpAsk): Promise<HttpAnswer> {
    const { link, locate } = this.#parts
    const answer = await link
      .ask({ ...options, url: this.#at(options.url) })
      .catch((error: unknown) => {
        throw throughGateway(error)
      })
    const { statusCode = 0, headers } = answer
    if (isOfInstance(headers)) return answer
    answer.destroy()
    if (locate !== null && hasMoved(statusCode)) return (await locate()).ask(options)
    throw throughGateway(failureOf(statusCode))
  }

  send(request: ReadRequest, receiver: AnswerReceiver): (reason: Error) => void {
    let cancelled: Error | null = null
    const sendAgain = async (located: Promise<LinkClient | PeerClient>): Promise<void> => {
      try {
        const client = await located
        if (cancelled !== null) throw cancelled
        cancel = client.send(request, receiver)
      } catch (error) {
        receiver.failed(error as Error)
      }
    }
    const { reads, locate } = this.#parts
    const receiving = new PeerAnswer(receiver, locate && (() => void sendAgain(locate())))
    let cancel = reads.send({ ...request, url: this.#at(request.url) }, receiving)
    return reason => {
      cancelled = reason
      cancel(reason)
    }
  }

  #at({ pathname, search }: URL): URL {
    return new URL(this.#parts.root + pathname + search)
  }
}

/** Passes an answer of the instance on. One of the other gateway itself is a failure. */
class PeerAnswer implements AnswerReceiver {
  readonly #receiver: AnswerReceiver
  readonly #moved: (() => void) | null
  #refusal: number | null = null

  constructor(receiver: AnswerReceiver, moved: (() => void) | null) {
    this.#receiver = receiver
    this.#moved = moved
  }

  begun(status: number, headers: IncomingHttpHeaders, answer: Arriving): void {
    if (isOfInstance(headers)) return this.#receiver.begun(status, headers, answer)
    this.#refusal = status
    answer.cut(failureOf(status))
  }

  data(chunk: Buffer): void {
    if (this.#refusal === null) this.#receiver.data(chunk)
  }

  ended(): void {
    this.#receiver.ended()
  }

  failed(reason: Error): void {
    if (this.#refusal !== null && hasMoved(this.#refusal) && this.#moved !== null) this.#moved()
    else this.#receiver.failed(throughGateway(reason) as Error)
  }
}

function hasMoved(status: number): boolean {
  return status === notHeld || status === secret
}

/** Any other answer is from the gateway, or from a proxy in front of it. */
function isOfInstance(headers: IncomingHttpHeaders): boolean {
  return headers[instanceHeader] !== undefined
}

function failureOf(status: number): Unreachable {
  const reason = reasons.get(status) ?? `it answers with HTTP ${status}`
  return status === late ? new AnswerTimeout(reason) : new Unreachable(reason)
}

function throughGateway(error: unknown): unknown {
  if (!(error instanceof Unreachable)) return error
  const message = `through its gateway: ${error.message}`
  return error instanceof AnswerTimeout ? new AnswerTimeout(message) : new Unreachable(message)
}
