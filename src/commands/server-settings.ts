import { resolve } from 'node:path'
import { isLoopback } from '../lib/address.ts'
import { ApiKeyConfig } from '../lib/auth/api-key-config.ts'
import { checkSecretText, readSecretFile } from '../lib/secret-file.ts'
import {
  checkAllowedHost,
  checkAllowedOrigin,
  checkHost,
  checkPublicUrl,
  usage,
} from './address-flags.ts'

/** The flags that every server has, as the parser returns them. */
export interface AddressFlags {
  port: number
  host: string
  'public-url'?: string | undefined
  'allowed-host'?: string[] | undefined
  'allowed-origin'?: string[] | undefined
}

export interface AddressSettings {
  port: number
  host: string
  publicUrl?: string
  allowedHosts: readonly string[]
  allowedOrigins: readonly string[]
}

/** Throws `usage_invalid` naming the flag. */
export function readAddress(flags: AddressFlags): AddressSettings {
  const publicUrl = flags['public-url'] === undefined ? null : checkPublicUrl(flags['public-url'])
  return {
    port: flags.port,
    host: checkHost(flags.host),
    allowedHosts: (flags['allowed-host'] ?? []).map(checkAllowedHost),
    allowedOrigins: (flags['allowed-origin'] ?? []).map(checkAllowedOrigin),
    ...(publicUrl !== null && { publicUrl }),
  }
}

export interface KeyFlags {
  'api-key-file'?: string | undefined
  'allow-unauthenticated': boolean
}

/**
 * The key that clients must present: of the file, else of the variable; null when there is none.
 * A key that is configured but unusable is an error, not "no key"; so is none where other machines
 * are let in.
 */
export async function readApiKey(
  host: string,
  flags: KeyFlags,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  const key = await findApiKey(flags['api-key-file'], env)
  if (key === null && !flags['allow-unauthenticated'] && !isLoopback(host)) {
    throw usage(
      `--host ${host} lets other machines in and no key is asked of them`,
      'set SERVICE_MCP_API_KEY or --api-key-file, or pass --allow-unauthenticated if this is meant',
    )
  }
  return key
}

/** Of the file, else of the variable; null when there is none. */
export async function findApiKey(
  file: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  if (file !== undefined) return readSecretFile(file, '--api-key-file')
  const config = new ApiKeyConfig()
  const key = config.resolve(env)
  return key === null ? null : checkSecretText(key, config.envVar)
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
