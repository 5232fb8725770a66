/** The SDK is written for Node 22. All that it lacks on Node 20 is `Promise.withResolvers`. */
Promise.withResolvers ??= function withResolvers() {
  const resolvers = {};
  resolvers.promise = new this((resolve, reject) => Object.assign(resolvers, { resolve, reject }));
  return resolvers;
};

export const { serve, service, TerminalError } = await import('@restatedev/restate-sdk');
