import { AdminCommand, administer, userArg } from '../admin-command.ts'

/** Disables an account. */
export default class RegistryUsersDisable extends AdminCommand {
  static override summary = 'Disable an account'

  static override description = `The next request with any password, session or token of the \
account is refused. Nothing is removed: once it is enabled again, unexpired sessions and \
tokens work again. To prevent that, use \`registry sessions end\`.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users disable alice' },
  ]

  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersDisable)
    await administer(flags, async ({ admin, operations, output }) => {
      const done = await operations.setUserDisabled(admin, args.user, true)
      const { username, changed } = done
      await output.result('', done)
      output.note(
        changed
          ? `the account "${username}" is disabled; until it is enabled again no password, session or token of it works`
          : `the account "${username}" was disabled already`,
      )
    })
  }
}
