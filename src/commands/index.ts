import type { Command } from '@oclif/core'

/** Every command of the program, by name. */
const loaders = {
  'adapter:blender': () => import('./adapter/blender.ts'),
  'adapter:python': () => import('./adapter/python.ts'),
  'artefacts:get': () => import('./artefacts/get.ts'),
  'artefacts:list': () => import('./artefacts/list.ts'),
  'artefacts:put': () => import('./artefacts/put.ts'),
  'artefacts:rm': () => import('./artefacts/rm.ts'),
  checkpoint: () => import('./checkpoint.ts'),
  connect: () => import('./connect.ts'),
  doctor: () => import('./doctor.ts'),
  gateway: () => import('./gateway.ts'),
  instances: () => import('./instances.ts'),
  'keys:create': () => import('./keys/create.ts'),
  'keys:list': () => import('./keys/list.ts'),
  'keys:off': () => import('./keys/off.ts'),
  'keys:revoke': () => import('./keys/revoke.ts'),
  login: () => import('./login.ts'),
  logout: () => import('./logout.ts'),
  'mcp-config': () => import('./mcp-config.ts'),
  'notes:accept': () => import('./notes/accept.ts'),
  'notes:add': () => import('./notes/add.ts'),
  'notes:answer': () => import('./notes/answer.ts'),
  'notes:close': () => import('./notes/close.ts'),
  'notes:list': () => import('./notes/list.ts'),
  'notes:reopen': () => import('./notes/reopen.ts'),
  'notes:show': () => import('./notes/show.ts'),
  page: () => import('./page.ts'),
  password: () => import('./password.ts'),
  publish: () => import('./publish.ts'),
  register: () => import('./register.ts'),
  registry: () => import('./registry/index.ts'),
  'registry:audit': () => import('./registry/audit.ts'),
  'registry:backup': () => import('./registry/backup.ts'),
  'registry:rotate-key': () => import('./registry/rotate-key.ts'),
  'registry:users:add': () => import('./registry/users/add.ts'),
  'registry:users:delete': () => import('./registry/users/delete.ts'),
  'registry:users:disable': () => import('./registry/users/disable.ts'),
  'registry:users:enable': () => import('./registry/users/enable.ts'),
  'registry:users:list': () => import('./registry/users/list.ts'),
  'registry:users:reset-code': () => import('./registry/users/reset-code.ts'),
  'registry:users:set': () => import('./registry/users/set.ts'),
  'resources:list': () => import('./resources/list.ts'),
  'resources:read': () => import('./resources/read.ts'),
  'resources:watch': () => import('./resources/watch.ts'),
  serve: () => import('./serve.ts'),
  'token:create': () => import('./token/create.ts'),
  'token:list': () => import('./token/list.ts'),
  'token:print': () => import('./token/print.ts'),
  'token:revoke': () => import('./token/revoke.ts'),
  whoami: () => import('./whoami.ts'),
} satisfies Record<string, () => Promise<{ default: Command.Class }>>

type Name = keyof typeof loaders

export const commandNames = Object.keys(loaders) as readonly Name[]

/** The loaded commands. oclif reads this export. */
export const COMMANDS: Record<string, Command.Class> = {}

export async function loadCommands(names: readonly Name[]): Promise<typeof COMMANDS> {
  const loading = names.map(async name => [name, (await loaders[name]()).default] as const)
  // In the order of the names, whichever module loads first.
  return Object.assign(COMMANDS, Object.fromEntries(await Promise.all(loading)))
}

/**
 * The command that the first words name, and its subcommands; null for an unknown command. Loading
 * all commands would take a fifth of the time of a short one.
 */
export function selectCommands(words: string[]): readonly Name[] | null {
  const end = words.findIndex(word => word.startsWith('-'))
  const leading = end === -1 ? words : words.slice(0, end)
  for (let count = leading.length; count > 0; count--) {
    const id = leading.slice(0, count).join(':')
    const found = commandNames.filter(name => name === id || name.startsWith(`${id}:`))
    if (found.length > 0) return found
  }
  return null
}
