import { localBase } from '../../lib/util/address.ts'
import type { TlsFiles } from './tls-files.ts'

/** Where a server is bound, and what clients call it. */
export interface BoundAt {
  readonly host: string
  readonly publicUrl?: string | undefined
  readonly tls?: TlsFiles | undefined
}

/** The address clients use, without a slash at its end. */
export function baseUrlOf({ host, publicUrl, tls }: BoundAt, port: number): string {
  const scheme = tls === undefined ? 'http' : 'https'
  return publicUrl?.replace(/\/+$/, '') ?? localBase(host, port, scheme)
}

/** The address of `/mcp` that clients use. */
export function mcpUrlOf(bound: BoundAt, port: number): string {
  return `${baseUrlOf(bound, port)}/mcp`
}
