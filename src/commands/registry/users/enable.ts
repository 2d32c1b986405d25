import { AdminCommand, administer, userArg } from '../admin-command.ts'

/** Enables an account. */
export default class RegistryUsersEnable extends AdminCommand {
  static override summary = 'Enable an account'

  static override description =
    'Its password works again. Logins and service tokens that ended do not come back.'

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users enable alice' },
  ]

  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersEnable)
    await administer(flags, async ({ admin, operations, output }) => {
      const done = await operations.enableUser(admin, args.user)
      const { username, changed } = done
      await output.result('', done)
      output.note(
        changed
          ? `the account "${username}" is enabled`
          : `the account "${username}" was enabled already`,
      )
    })
  }
}
