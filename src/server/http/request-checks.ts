import { type Cors, createCors } from './cors.ts'
import { createGuard, type Guard } from './guards.ts'
import type { ListenOptions } from './listen-options.ts'
import { createPeerOf, type PeerOf } from './trusted-proxies.ts'

/** What every server checks of a request before it looks at its path. */
export interface RequestChecks {
  readonly guard: Guard
  readonly cors: Cors
  readonly peerOf: PeerOf
}

/** `methods` are those that pages may use; the default is that of `createCors`. */
export function createRequestChecks(
  where: Omit<ListenOptions, 'port' | 'tls'>,
  methods?: string,
): RequestChecks {
  const { host, publicUrl, allowedHosts = [], allowedOrigins = [], trustedProxies = [] } = where
  const publicHost = publicUrl === undefined ? [] : [new URL(publicUrl).host]
  return {
    guard: createGuard({
      own: [host, ...publicHost],
      hosts: allowedHosts,
      origins: allowedOrigins,
    }),
    cors: createCors(allowedOrigins, methods),
    peerOf: createPeerOf(trustedProxies),
  }
}
