import { resolve } from 'node:path'
import { usage } from '../lib/util/usage.ts'
import type { ListenOptions } from '../server/http/listen-options.ts'
import {
  checkAllowedHost,
  checkAllowedOrigin,
  checkHost,
  checkPublicUrl,
  checkTrustedProxy,
} from './address-flags.ts'

/** The flags that every server has, as the parser returns them. */
export interface AddressFlags {
  port: number
  host: string
  'public-url'?: string | undefined
  'allowed-host'?: string[] | undefined
  'allowed-origin'?: string[] | undefined
  'trusted-proxy'?: string[] | undefined
  'tls-cert'?: string | undefined
  'tls-key'?: string | undefined
}

/** Throws `usage_invalid` naming the flag. */
export function readAddress(flags: AddressFlags): ListenOptions {
  const publicUrl = flags['public-url'] === undefined ? null : checkPublicUrl(flags['public-url'])
  const trustedProxies = (flags['trusted-proxy'] ?? []).map(checkTrustedProxy)
  const tls = readTls(flags)
  return {
    port: flags.port,
    host: checkHost(flags.host),
    allowedHosts: (flags['allowed-host'] ?? []).map(checkAllowedHost),
    allowedOrigins: (flags['allowed-origin'] ?? []).map(checkAllowedOrigin),
    ...(publicUrl !== null && { publicUrl }),
    ...(trustedProxies.length > 0 && { trustedProxies }),
    ...(tls !== null && { tls }),
  }
}

/** Both files, or none: they are read when the server starts. */
function readTls(flags: AddressFlags): Required<ListenOptions>['tls'] | null {
  const certFile = checkPath('tls-cert', flags['tls-cert'])
  const keyFile = checkPath('tls-key', flags['tls-key'])
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile }
  if (certFile === undefined && keyFile === undefined) return null
  const [given, missing] = keyFile === undefined ? ['cert', 'key'] : ['key', 'cert']
  throw usage(`--tls-${given} needs --tls-${missing}`, 'name the certificate and its key')
}

/** `--registry-dir`, else the variable, as an absolute path; undefined: the default. */
export function readRegistryDir(
  flags: { 'registry-dir'?: string | undefined },
  env: NodeJS.ProcessEnv,
): string | undefined {
  const { SERVICE_REGISTRY_DIR: variable } = env
  return (
    checkPath('registry-dir', flags['registry-dir']) ?? (variable ? resolve(variable) : undefined)
  )
}

/** Other programs use the paths of a record, in folders of their own: they are made absolute. */
export function checkPath(flag: string, value: string | undefined): string | undefined {
  if (value === '') throw usage(`--${flag} is empty`, 'a variable in your shell may be unset')
  return value === undefined ? undefined : resolve(value)
}
