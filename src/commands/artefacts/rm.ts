import { BaseCommand } from '../../lib/cli/base-command.ts'
export default class Artefactsrm extends BaseCommand {
  override async run(): Promise<void> {}
}
