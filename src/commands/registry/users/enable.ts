import { AdminCommand, administer, userArg } from '../admin-command.ts'

/** Enables an account. */
export default class RegistryUsersEnable extends AdminCommand {
  static override summary = 'Enable an account'

  static override description = `Its password and its unexpired sessions and tokens work again.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users enable alice' },
  ]

  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersEnable)
    await administer(flags, async ({ admin, operations, output }) => {
      const done = await operations.setUserDisabled(admin, args.user, false)
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
