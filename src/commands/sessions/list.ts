import { AccountCommand } from '../../lib/cli/base-command.ts'

/** Lists the logins of the account. */
export default class SessionsList extends AccountCommand {
  static override summary = 'List your logins, on every machine'

  static override description =
    'Shows id, client and machine, address, last use and expiry of each login.'

  static override examples = [
    { description: 'your logins', command: '<%= config.bin %> sessions list' },
    { description: 'for a script', command: '<%= config.bin %> sessions list --json' },
  ]

  override async run(): Promise<void> {
    const { flags } = await this.parse(SessionsList)
    const { listSessions } = await import('../account/sessions.ts')
    await listSessions(flags, process.env)
  }
}
