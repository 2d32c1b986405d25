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
  /** The current session. */
  readonly session: () => Session | null
  /** Called when the server no longer knows the session. */
  readonly ended: (session: Session, generation: number) => void
  readonly signal: AbortSignal
}

const listChanged = 'notifications/resources/list_changed'

/** Forwards notifications of a session, and sends those that the client missed during a gap. */
export class SessionPush {
  readonly #parts: SessionPushParts
  /** Subscriptions that the server refused to renew: their resources may appear later. */
  #refused = new Set<string>()
  #catchingUp = false

  constructor(parts: SessionPushParts) {
    this.#parts = parts
  }

  refusedAre(uris: string[]): void {
    this.#refused = new Set(uris)
  }

  /** Opens the stream of the session after `notifications/initialized`. */
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

  /** Notifies the client of changes that it may have missed. Runs once at a time. */
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
      log.warn({}, 'dropped a response on the stream of the session')
      return
    }
    await output.send(line)
    const changed = messages.some(
      message => message.kind === 'notification' && message.method === listChanged,
    )
    if (changed) void this.#subscribeRefused(target)
  }

  /** A new resource may be the one that a refused subscription names. */
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
