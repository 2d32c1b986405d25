import { builtIn } from '../resources/scheme-producer.ts'
import type { Descriptor, Template } from '../resources/producer.ts'

export const instancesUri = 'gateway://instances'
export const processUri = 'gateway://diagnostics/process'
const auditUri = 'gateway://diagnostics/audit'
export const metricsUri = 'gateway://diagnostics/metrics'
export const catalogUri = 'gateway://catalog'
const eventsUri = 'resources://gateway/events'

const audience = ['user', 'assistant'] as const

/** The root pointers: all that is listed. Single instances and entries are read by their URI. */
export const rootDescriptors: readonly Descriptor[] = builtIn([
  {
    uri: instancesUri,
    name: 'Running instances',
    description:
      'Every application instance on this machine: what it is, in which state, and the mcp_url for a session with it',
    annotations: { audience, priority: 0.9 },
  },
  {
    uri: processUri,
    name: 'Gateway process',
    description:
      'The process of the gateway, and how many instances are live, stale, unhealthy or dead, with the reason for each',
    annotations: { audience, priority: 0.3 },
  },
  {
    uri: auditUri,
    name: 'Gateway activity',
    description: 'Calls pending at this gateway and subscriptions to its resources',
    annotations: { audience, priority: 0.2 },
  },
  {
    uri: metricsUri,
    name: 'Gateway metrics',
    description: 'Live instances and time-outs; the gateway publishes no tools of the instances',
    annotations: { audience, priority: 0.2 },
  },
  {
    uri: catalogUri,
    name: 'Catalog',
    description: 'Adapters, skills and plug-ins for applications; ?query=WORDS searches them',
    annotations: { audience, priority: 0.5 },
  },
])

export const gatewayTemplates: readonly Template[] = builtIn([
  {
    uriTemplate: `${instancesUri}{?dcc_type,query,status,include_stale,include_dead,verbose,limit,offset}`,
    name: 'Instances, filtered',
    description: 'Of one kind, in one state, or with a text in name, id, version or scene',
  },
  {
    uriTemplate: `${instancesUri}/{instance_id}`,
    name: 'One instance',
    description: 'By its id or by the first digits of it, at least 4, dead ones too',
  },
  { uriTemplate: `${processUri}{?dcc_type}`, name: 'Gateway process, for one kind of application' },
  {
    uriTemplate: `${catalogUri}{?query,limit,offset}`,
    name: 'Catalog, searched',
    description: 'Best matches in name, application, tags and description first',
  },
  {
    uriTemplate: `${catalogUri}/{name}`,
    name: 'One catalog entry',
    description: 'By its exact name',
  },
])

export const eventTemplates: readonly Template[] = builtIn([
  {
    uriTemplate: `${eventsUri}{?limit}`,
    name: 'Gateway events',
    description:
      'Elections, takeovers, instances that came and went; one JSON object a line, newest last',
    mimeType: 'application/jsonl',
  },
])
