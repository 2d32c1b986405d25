import { maxHostBatch } from '../messages.ts'
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { closeCodes, protocolVersion, type Welcome } from '../../../lib/host-link/wire.ts'
import { fail } from '../../../lib/util/result.ts'
import type { LinkedPictures } from '../../capture/host-backend.ts'
import { Application, type ApplicationListener, linkHeartbeatMs } from './application.ts'
import { Channel, type ChannelReader } from './channel.ts'
import { type IncomingFrame, parseFrame } from './incoming.ts'
import type { LinkDeps } from './link-deps.ts'
import type { HelloFacts } from './parse-hello.ts'
import { offeredPictures, pictureFailure } from './pictures.ts'
import type { Presence } from './presence.ts'

/** Objects of a scene beyond which the application is advised to truncate. */
export const maxSceneObjects = 2000

interface AppLinkDeps extends LinkDeps {
  /** The server's own, for the welcome. */
  readonly identity: { readonly name: string; readonly version: string }
  /** Told of every change of what is known of the application. */
  onPresence(presence: Presence): void
}

const noHello = 'the first message must be a hello'
/** When the server stops, clients come back no sooner than this. */
const reconnectAfterMs = 1000

/** Which application is linked: accepts one at a time, refuses the others, cleans up after it. */
export class AppLink {
  readonly #deps: AppLinkDeps
  readonly #channels = new Set<Channel>()
  /** The one that is connected, or whose connection was lost a moment ago. */
  #application: Application | null = null
  #closed = false

  constructor(deps: AppLinkDeps) {
    this.#deps = deps
  }

  /** The application as a source of pictures of itself, whichever is connected. */
  readonly pictures: LinkedPictures = {
    offered: (view = 'window') => {
      const application = this.#application
      return offeredPictures(application?.isConnected === true ? application.pictures : null, view)
    },
    ask: async form =>
      this.#application?.capture(form) ?? fail(pictureFailure('host_disconnected')),
    captured: view => this.#application?.captured(view),
  }

  get openLinks(): number {
    return this.#channels.size
  }

  /** A WebSocket past the handshake: its first message must be a hello. */
  accept(ws: WebSocket, socket: Socket, fromPage = false): void {
    const { limits, timer } = this.#deps
    const stopWaiting = timer.after(limits.linkHelloMs, () => {
      channel.close(closeCodes.helloMissing, `no hello came within ${limits.linkHelloMs} ms`)
    })
    const newcomer: ChannelReader = {
      text: text => {
        stopWaiting()
        this.#greet(channel, text)
      },
      bytes: () => channel.close(closeCodes.badMessage, noHello),
      closed: stopWaiting,
    }
    const channel = new Channel(ws, socket, { limits, reader: newcomer, fromPage })
    this.#channels.add(channel)
    ws.once('close', () => this.#channels.delete(channel))
    if (this.#closed) channel.close(closeCodes.serverStops, 'the server stops')
  }

  /** Lets every application know and go. */
  close(): void {
    this.#closed = true
    for (const channel of this.#channels) {
      const reason = 'the server stops'
      channel.send({ type: 'shutdown', reason, reconnect_after_ms: reconnectAfterMs })
      channel.close(closeCodes.serverStops, reason)
    }
    this.#application?.forget()
  }

  #greet(channel: Channel, text: string): void {
    const { clock, log } = this.#deps
    const frame = parseFrame(text, clock.now())
    if (frame.kind !== 'message' || frame.message.type !== 'hello') {
      return channel.close(closeCodes.badMessage, whyNoHello(frame))
    }
    const hello = frame.message
    if (!hello.protocol.includes(protocolVersion)) {
      const reason = `the server speaks version ${protocolVersion} of the protocol`
      return channel.close(closeCodes.versionUnknown, reason)
    }
    const { app, instanceId } = hello
    if (this.#application?.isConnected && this.#application.instanceId !== instanceId) {
      const message = `another application is connected: ${this.#application.describe()}`
      log.warn({ dcc_type: app.dccType, pid: app.pid }, 'a second application was turned away')
      const named = frame.id === undefined ? {} : { id: frame.id }
      channel.send({ type: 'error', ...named, code: 'host_taken', message, retryable: true })
      return channel.close(closeCodes.hostTaken, 'another application is connected')
    }
    this.#seat(channel, hello)
  }

  #seat(channel: Channel, hello: HelloFacts): void {
    const known = this.#application?.instanceId === hello.instanceId ? this.#application : null
    if (known === null) this.#application?.forget()
    const application = known ?? new Application(hello.instanceId, this.#deps, this.#listener)
    this.#application = application
    channel.send(this.#welcome(hello))
    application.connect(channel, hello)
  }

  readonly #listener: ApplicationListener = {
    presence: (presence, from) => {
      // What is left of an earlier application says nothing of the one that has its place.
      if (from !== this.#application) return
      const { connected, app } = presence
      const { instanceId } = from
      this.#deps.sink.scene.setApplication({
        instanceId,
        connected,
        dccType: app?.dccType ?? 'unknown',
      })
      this.#deps.onPresence(presence)
    },
    cleared: ({ instanceId }, reason) => {
      const { scene } = this.#deps.sink
      if (scene.setBy === instanceId) scene.clear(reason)
    },
  }

  #welcome({ instanceId, refreshes }: HelloFacts): Welcome {
    const { limits, sink, identity } = this.#deps
    return {
      type: 'welcome',
      protocol: protocolVersion,
      session: randomUUID(),
      server: identity,
      limits: {
        max_message_bytes: limits.maxMessageBytes,
        max_batch: maxHostBatch,
        max_in_flight: limits.maxLinkRequests,
        max_artefact_bytes: sink.artefacts === null ? null : limits.maxArtefactBytes,
        max_scene_objects: maxSceneObjects,
        max_patched_objects: limits.maxPatchedObjects,
        scene_min_interval_ms: 0,
      },
      heartbeat_ms: linkHeartbeatMs,
      // An application that cannot confirm its scene sends it again.
      need_scene: sink.scene.setBy !== instanceId || !refreshes,
      scene_patch: true,
    }
  }
}

function whyNoHello(frame: IncomingFrame): string {
  if (frame.kind === 'broken') return frame.reason
  return frame.kind === 'refused' && frame.type === 'hello' ? frame.message : noHello
}
