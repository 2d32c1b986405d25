/** The default port of each server. */
export const defaultPorts = { serve: 8765, gateway: 9765, registry: 8780 } as const
