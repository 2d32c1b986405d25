import { type AuthFlags, readAuth } from './auth-flags.ts'
import { resolve } from 'node:path'
import { checkPath } from './path-flags.ts'
import { type AddressFlags, readAddress, readLimitFlags } from './server-flags.ts'

/** The flags of every server of MCP clients, as the parser returns them. */
export type McpServerFlags = AddressFlags &
  AuthFlags & {
    'registry-dir'?: string
    'no-tools'?: boolean
    'no-page'?: boolean
    limit?: string[]
  }

/** The settings that `serve` and `gateway` share. Throws as those of each do. */
export async function readMcpServerSettings(flags: McpServerFlags, env: NodeJS.ProcessEnv) {
  const address = readAddress(flags)
  const { SERVICE_REGISTRY_DIR: variable } = env
  const registryDir = checkPath('registry-dir', flags['registry-dir'])
  return {
    ...address,
    registryDir: registryDir ?? (variable ? resolve(variable) : undefined),
    tools: flags['no-tools'] !== true,
    page: flags['no-page'] !== true,
    auth: await readAuth(address, flags, env),
    limits: readLimitFlags(flags.limit ?? []),
  }
}
