import type { BridgeContext, Target } from './context.ts'
import type { ServerText } from './exchange.ts'
import { PushStream } from './push-stream.ts'
import type { Recovery } from './recovery.ts'
import { notificationMessage } from './rpc.ts'
import { subscribeAgain } from './session-restore.ts'
import { type Session, sessionHeaders } from './session.ts'
import type { Subscriptions } from './subscriptions.ts'

interface SessionPushParts {
  readonly context: BridgeContext
  readonly recovery: Recovery
  readonly subscriptions: Subscriptions
  /** The one that is pushed to now. */
  readonly session: () => Session | null
  /** The server does not know it any more. */
  readonly ended: (session: Session, generation: number) => void
  readonly signal: AbortSignal
}

const listChanged = 'notifications/resources/list_changed'

/** What reaches the client of a session unasked: from the server, and after a gap from here. */
export class SessionPush {
  readonly #parts: SessionPushParts
  /** Subscriptions that the server refused when they were renewed: what they name may come yet. */
  #refused = new Set<string>()
  #catchingUp = false

  constructor(parts: SessionPushParts) {
    this.#parts = parts
  }

  refusedAre(uris: readonly string[]): void {
    this.#refused = new Set(uris)
  }

  /** Opens the stream of the session, once the client has said that it is ready. */
  async listen(target: Target): Promise<void> {
    const { context, recovery, ended, signal } = this.#parts
    const session = this.#parts.session()
    if (session === null || !session.initialized || signal.aborted) return
    session.stream?.close()
    const { generation } = recovery
    session.stream = new PushStream({
      ...context,
      target,
      headers: sessionHeaders(session),
      deliver: text => this.#pushed(text, target),
      resumed: () => this.catchUp(),
      sessionEnded: () => ended(session, generation),
      lost: reason => recovery.lost(reason, generation),
    })
    await session.stream.open()
  }

  /** Nobody knows what changed meanwhile: the client is told to look. Once at a time. */
  catchUp(): void {
    const { context, subscriptions } = this.#parts
    const session = this.#parts.session()
    if (session === null || this.#catchingUp) return
    this.#catchingUp = true
    const all = async (): Promise<void> => {
      if (session.pushes.list) await context.output.send(notificationMessage(listChanged))
      if (!session.pushes.updates) return
      for (const uri of subscriptions.uris) await this.#announce(uri)
    }
    void all().finally(() => (this.#catchingUp = false))
  }

  async #pushed({ line, messages }: ServerText, target: Target): Promise<void> {
    const { log, output } = this.#parts.context
    if (messages.some(message => message.kind === 'response')) {
      log.warn({}, 'an answer on the stream of the session is left out')
      return
    }
    await output.send(line)
    const changed = messages.some(
      message => message.kind === 'notification' && message.method === listChanged,
    )
    if (changed) void this.#subscribeRefused(target)
  }

  /** Something came: it may be what a subscription waits for. */
  async #subscribeRefused(target: Target): Promise<void> {
    const { context, subscriptions, signal } = this.#parts
    const session = this.#parts.session()
    const uris = [...this.#refused].filter(uri => subscriptions.has(uri))
    if (session === null || uris.length === 0) return
    this.#refused.clear()
    const outcome = await subscribeAgain({ context, target, signal }, session, uris)
    if (this.#parts.session() !== session) return
    const still = new Set(outcome.ok ? outcome.value : uris)
    for (const uri of uris) {
      if (still.has(uri)) this.#refused.add(uri)
      else await this.#announce(uri)
    }
  }

  #announce(uri: string): Promise<void> {
    const message = notificationMessage('notifications/resources/updated', { uri })
    return this.#parts.context.output.send(message, () => this.#parts.subscriptions.has(uri))
  }
}
