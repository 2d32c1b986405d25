import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Clock, monotonicClock, systemClock } from '../../lib/util/clock.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { Secret } from '../../lib/util/secret.ts'
import type { PeerOf } from '../http/trusted-proxies.ts'
import type { Limits } from '../../lib/config/limits.ts'
import { type Timer, systemTimer } from '../resources/timer.ts'
import { EventBuffers } from './event-buffers.ts'
import type { HostSink } from './host-sink.ts'
import { AppLink } from './link/app-link.ts'
import type { LinkDeps } from './link/link-deps.ts'
import type { Presence } from './link/presence.ts'
import { createLinkUpgrade, wantsLink } from './link/upgrade.ts'
import { createHostRoutes, type HostRefused } from './routes.ts'

export interface HostRoomDeps {
  readonly sink: HostSink
  readonly registry: LinkDeps['registry']
  readonly token: Secret
  readonly identity: { readonly name: string; readonly version: string }
  readonly limits: Limits
  readonly log: Logger
  readonly clock?: Clock
  readonly timer?: Timer
  /** Default: the address of the connection. */
  readonly peerOf?: PeerOf
  onPresence(presence: Presence): void
  /** Told of every 401 and 403, for the audit log. */
  onRefused(refused: HostRefused): void
}

/** Everything below `/host`: the live link and the plain posts, which share the event buffers. */
export function createHostRoom(deps: HostRoomDeps) {
  const { sink, token, limits, onRefused, clock = systemClock, timer = systemTimer } = deps
  const { maxEventBuffers: max, linkGraceMs: graceMs } = limits
  const buffers = new EventBuffers(sink, { max, graceMs, timer })
  const handle = createHostRoutes({ ...deps, buffers, clock })
  const link = new AppLink({ ...deps, buffers, clock, timer, ticks: deps.clock ?? monotonicClock })
  const upgrade = createLinkUpgrade({
    token,
    limits,
    onRefused,
    peerOf: deps.peerOf,
    openLinks: () => link.openLinks,
    accept: (ws, socket) => link.accept(ws, socket),
  })
  return {
    handle: (req: IncomingMessage, res: ServerResponse, path: string) => handle(req, res, path),
    wantsUpgrade: wantsLink,
    upgrade: (req: IncomingMessage, socket: Socket, head: Buffer) => upgrade(req, socket, head),
    close: () => link.close(),
    pictures: link.pictures,
  }
}
