import { isIP } from 'node:net'
import { withoutBrackets } from '../lib/util/address.ts'
import { parseNetwork } from '../lib/util/network.ts'
import { usage } from '../lib/util/usage.ts'
import { parseOrigin } from '../lib/util/web-origin.ts'

/** The flags of every server that say where it listens and who may ask. */
export function checkHost(value: string): string {
  const host = withoutBrackets(value)
  if (isIP(host) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(host)) return host
  throw usage(`--host ${value} is neither an address nor a host name`)
}

export function checkPublicUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null
  const plain = url !== null && url.username + url.password + url.search + url.hash === ''
  if (plain && (url.protocol === 'http:' || url.protocol === 'https:')) return value
  throw usage('--public-url must be an http or https address without credentials, query or #')
}

export function checkAllowedHost(value: string): string {
  if (/^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?$/i.test(value)) return value.toLowerCase()
  throw usage(`--allowed-host ${value} is not a host name`, 'write one name, as in studio.example')
}

export function checkAllowedOrigin(value: string): string {
  const origin = parseOrigin(value)
  if (origin !== null) return origin
  throw usage(`--allowed-origin ${value} is not an origin`, 'write it as https://studio.example')
}

export function checkTrustedProxy(value: string): string {
  if (parseNetwork(value) !== null) return value
  throw usage(
    `--trusted-proxy ${value} is neither an address nor a limited network`,
    'write it as 127.0.0.1 or 10.1.0.0/16',
  )
}
