import { TokenCommand } from '../lib/cli/base-command.ts'

/** Says who the token belongs to. */
export default class Whoami extends TokenCommand {
  static override summary = 'Show who is logged in'

  static override description = `Shows user name, email address and team, as the accounts server knows them, \
and the source and expiry of the token. A saved login is refreshed when it is \
about to expire. The token is that of --token, else SERVICE_TOKEN, else the file named by \
SERVICE_TOKEN_FILE, else the saved login.

When the accounts server cannot be reached, the saved login is shown, marked as not verified, and the exit \
code is 5.`

  static override examples = [
    { description: 'who is logged in', command: '<%= config.bin %> whoami' },
    { description: 'for a script', command: '<%= config.bin %> whoami --json' },
  ]

  override async run(): Promise<void> {
    const { flags } = await this.parse(Whoami)
    const { whoami } = await import('./account/whoami.ts')
    const code = await whoami(flags, process.env)
    if (code !== 0) process.exitCode = code
  }
}
