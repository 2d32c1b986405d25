import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { maxBatch, type Message } from '../../../lib/host-link/messages.ts'
import { closeCodes, subprotocol, type Welcome } from '../../../lib/host-link/wire.ts'
import { messageOf, ServiceError } from '../../../lib/util/errors.ts'
import { fail } from '../../../lib/util/result.ts'
import { version } from '../../../lib/util/version.ts'
import type { LinkedPictures } from '../../capture/host-backend.ts'
import { toProblem } from '../../http/problem.ts'
import { createHandshake } from '../../http/handshake.ts'
import { refuseUpgrade, type Upgrade } from '../../http/upgrade.ts'
import { type AppOrigin, findAppOrigin } from '../app-origins.ts'
import type { HostParts } from '../endpoint.ts'
import type { EventBuffers } from '../event-buffers.ts'
import { authorizeHostRequest, checkPlace } from '../guards.ts'
import type { Uploads } from '../uploads.ts'
import { Channel, type ChannelReader } from './channel.ts'
import { type Frame, parseLinkMessage } from './frame.ts'
import { offeredPictures, pictureFailure } from './pictures.ts'
import { Schemes } from './schemes.ts'
import { heartbeatMs, LinkSession } from './session.ts'

interface HostLinkParts extends HostParts {
  readonly buffers: EventBuffers
  readonly uploads: Uploads
}

/** Open links that have shown their token; further ones are refused. */
const maxLinks = 16

const noHello = 'the first message must be a hello'

/** The WebSockets of applications: one application at a time, the others are refused. */
export class HostLink {
  readonly #parts: HostLinkParts
  readonly #schemes: Schemes
  /** Of those that have shown their token. */
  readonly #channels = new Set<Channel>()
  /** Web pages that have not shown it yet. */
  readonly #newPages = new Set<Channel>()
  /** That of the application, which may have ended. */
  #session: LinkSession | null = null

  constructor(parts: HostLinkParts) {
    this.#parts = parts
    this.#schemes = new Schemes(parts.registry)
  }

  /** The application as a source of pictures of itself, whichever is connected. */
  readonly pictures: LinkedPictures = {
    offered: (view = 'window') => {
      const session = this.#session
      return offeredPictures(session?.isConnected === true ? session.pictures : null, view)
    },
    ask: async form => this.#session?.capture(form) ?? fail(pictureFailure('host_disconnected')),
    captured: view => this.#session?.captured(view),
  }

  /** Checks who asks for the host link, and opens it. */
  createUpgrade(): Upgrade {
    const { token, appOrigins, limits, onRefused } = this.#parts
    const handshake = createHandshake(subprotocol, limits.maxMessageBytes)
    return (req, socket, head, peer) => {
      const page = findAppOrigin(appOrigins, req)
      const refusal = page === null ? authorizeHostRequest(req, token, null) : checkPlace(req)
      if (refusal !== null) {
        const problem = toProblem(refusal)
        onRefused({ status: problem.status, reason: refusal.reason, peer })
        return refuseUpgrade(req, problem)
      }
      const full = page === null ? this.#fullness : null
      if (full !== null) {
        const busy = toProblem(new ServiceError('limit_reached', full))
        return refuseUpgrade(req, busy, { 'Retry-After': '10' })
      }
      handshake(req, socket, head, ws => this.#open(ws, socket, page, peer))
    }
  }

  close(): void {
    const reason = 'the server stops'
    for (const channel of this.#channels.union(this.#newPages))
      channel.close(closeCodes.serverStops, reason)
    this.#session?.end(closeCodes.serverStops, reason)
    this.#schemes.forget()
  }

  /** Why there is no place for one more; null: there is. */
  get #fullness(): string | null {
    return this.#channels.size < maxLinks ? null : `${maxLinks} links are open already`
  }

  /** A WebSocket past the handshake: its first message must be a hello. */
  #open(ws: WebSocket, socket: Socket, page: AppOrigin | null, peer: string): void {
    const reader: ChannelReader = {
      message: frame => {
        // A page cannot send `Authorization` with a WebSocket: its hello has the token.
        const { token } = frame.value
        if (page !== null && !(typeof token === 'string' && page.token.equals(token))) {
          this.#parts.onRefused({ status: 401, reason: 'token_wrong', peer })
          return channel.close(closeCodes.tokenWrong, 'the hello lacks the token of its page')
        }
        const full = page === null ? null : this.#fullness
        if (full !== null) return channel.close(closeCodes.overloaded, full)
        this.#newPages.delete(channel)
        this.#channels.add(channel)
        this.#greet(channel, frame)
      },
      bytes: () => channel.close(closeCodes.badMessage, noHello),
      closed: () => {},
    }
    const channel = new Channel(ws, socket, { reader, isPage: page !== null })
    const places = page === null ? this.#channels : this.#newPages
    places.add(channel)
    ws.once('close', () => {
      this.#channels.delete(channel)
      this.#newPages.delete(channel)
    })
  }

  #greet(channel: Channel, frame: Frame): void {
    let message: Message | null = null
    try {
      message = frame.type === 'hello' ? parseLinkMessage(frame) : null
    } catch (error) {
      return channel.close(closeCodes.badMessage, messageOf(error))
    }
    if (message?.type !== 'hello') return channel.close(closeCodes.badMessage, noHello)
    const { app, instance_id } = message
    const session = this.#session
    if (session?.isConnected && session.instanceId !== instance_id) {
      const reason = `another application is connected: ${session.title}`
      const { dcc_type, pid } = app
      this.#parts.log.warn({ dcc_type, pid }, 'a second application was turned away')
      return channel.close(closeCodes.hostTaken, reason)
    }
    this.#accept(channel, message)
  }

  /** A connection that the application still has is of no use any more. */
  #accept(channel: Channel, hello: Message<'hello'>): void {
    const isBack = this.#session?.instanceId === hello.instance_id
    this.#session?.end(closeCodes.replaced, 'a newer link of the same instance has its place')
    if (!isBack) this.#schemes.forget()
    channel.send(this.#welcome(hello))
    this.#session = new LinkSession(hello, { ...this.#parts, schemes: this.#schemes, channel })
    this.#session.start()
  }

  #welcome({ instance_id, scene_refresh }: Message<'hello'>): Welcome {
    const { limits, registry } = this.#parts
    return {
      type: 'welcome',
      server: { name: 'service-cli', version },
      limits: {
        max_message_bytes: limits.maxMessageBytes,
        max_batch: maxBatch,
        max_patched_objects: limits.maxPatchedObjects,
      },
      heartbeat_ms: heartbeatMs,
      // An application that cannot confirm its scene sends it again.
      need_scene: registry.scene.setBy !== instance_id || scene_refresh !== true,
    }
  }
}
