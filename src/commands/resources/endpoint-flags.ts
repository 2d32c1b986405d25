import * as Flags from '@oclif/core/flags'

/** Which server, and what opens it: of every command that looks at resources. */
export const endpointFlags = {
  url: Flags.string({
    description: 'address of an MCP endpoint, also of another machine or another server',
    helpValue: 'URL',
    exclusive: ['instance', 'dcc-type'],
  }),
  instance: Flags.string({
    description: 'one of your running instances, by its id or the beginning of it',
    helpValue: 'ID',
    exclusive: ['url', 'dcc-type'],
  }),
  'dcc-type': Flags.string({
    description: 'the running instance of this kind of application, as in blender',
    helpValue: 'TYPE',
    exclusive: ['url', 'instance'],
  }),
  'api-key-file': Flags.string({
    description: 'file with the key that the server asks for; before SERVICE_MCP_API_KEY',
    helpValue: 'FILE',
  }),
  'allow-http': Flags.boolean({
    description: 'send the key unencrypted to another machine',
    default: false,
  }),
  'registry-dir': Flags.string({
    description: 'folder of instance records; before SERVICE_REGISTRY_DIR',
    helpValue: 'DIR',
  }),
}
