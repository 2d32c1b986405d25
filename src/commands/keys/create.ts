import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { warningsTo } from '../../lib/cli/output.ts'
import { selectStateDirectory } from '../../lib/config/paths.ts'
import { usage } from '../../lib/util/errors.ts'
import { cleanText } from '../../lib/util/text.ts'
import { ownServers } from '../own-servers.ts'
import { expiryOf, keyJson, keysFlags, openKeys } from './keys-file.ts'

const unitMs: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

export default class KeysCreate extends BaseCommand {
  static override summary = 'Create a key for MCP clients'
  static override description = `Prints the new key alone on stdout, this once. From the first key on, \
every server of your account requires one, running servers included. Your own commands on this \
machine need none.`
  static override examples = ['<%= config.bin %> keys create anna-claude --expires-in 30d']

  static override args = {
    name: Args.string({ ignoreStdin: true, description: 'name of the key', required: true }),
  }

  static override flags = {
    'read-only': Flags.boolean({
      description: 'allow reading, but not answering notes or removing events',
    }),
    'expires-in': Flags.string({
      description: 'lifetime, as in 12h, 30d or 8w [default: until revoked]',
      helpValue: 'TIME',
    }),
    ...keysFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(KeysCreate)
    const { addClientKey, file, keyName, output } = await openKeys(flags)
    if (!keyName.safeParse(args.name).success) {
      // Not repeated: it may be a key.
      const form = 'the name of a key has 1 to 64 letters, digits, ".", "_" or "-"; it is no key'
      throw usage(form, 'as in anna-claude')
    }
    const { key, entry, isFirst } = await addClientKey(file, {
      name: args.name,
      scope: flags['read-only'] ? 'read' : 'write',
      expires_at: expiresAt(flags['expires-in']),
    })
    const { name, scope } = entry
    output.note(`key "${name}" (${scope}) ${expiryOf(entry)}; it is shown only this time`)
    const isOfAccount = flags['keys-file'] === undefined
    const registryDir = selectStateDirectory(undefined, process.env)
    const running = isFirst && isOfAccount ? await ownServers(registryDir, warningsTo(output)) : []
    const servers = running.map(({ name, url }) => ({ name: cleanText(name, 80), url }))
    await output.result(key, { ...keyJson(entry), key, file, now_required_by: servers })
    output.note('clients send it as the header Authorization: Bearer <key>, or take it from')
    output.note('SERVICE_MCP_API_KEY: connect, serve --stdio and the settings of mcp-config')
    if (!isFirst) return
    const which = isOfAccount ? 'all servers of your account' : 'servers with this --keys-file'
    output.note(`${which} ask clients for a key from now on, those that already run too`)
    // Instance records do not say which file a server follows.
    if (servers.length > 0)
      output.note('running now, unless started with another key file or --auth:')
    for (const { name, url } of servers) output.note(`  ${name}: ${url}`)
  }
}

/** The end of a lifetime such as `30d`. Throws `usage_invalid`. */
function expiresAt(life: string | undefined): string | undefined {
  if (life === undefined) return undefined
  const [, count, unit = ''] = /^([1-9]\d{0,3})([mhdw])$/.exec(life) ?? []
  const lifeMs = Number(count) * (unitMs[unit] ?? 0)
  if (lifeMs > 0) return new Date(Date.now() + lifeMs).toISOString()
  throw usage('--expires-in is a number up to 9999 and m, h, d or w', 'as in 30d')
}
