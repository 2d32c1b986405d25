import { type AuthFlags, readAuth } from './auth-settings.ts'
import { readLimitFlags } from './limit-flag.ts'
import { type AddressFlags, readAddress, readRegistryDir } from './server-settings.ts'

/** The flags of every server of MCP clients, as the parser returns them. */
export interface McpServerFlags extends AddressFlags, AuthFlags {
  'registry-dir'?: string
  'no-tools'?: boolean
  'no-page'?: boolean
  limit?: string[]
}

/** The settings that `serve` and `gateway` share. Throws as those of each do. */
export async function readMcpServerSettings(flags: McpServerFlags, env: NodeJS.ProcessEnv) {
  const address = readAddress(flags)
  return {
    ...address,
    registryDir: readRegistryDir(flags, env),
    tools: flags['no-tools'] !== true,
    page: flags['no-page'] !== true,
    auth: await readAuth(address, flags, env),
    limits: readLimitFlags(flags.limit ?? []),
  }
}
