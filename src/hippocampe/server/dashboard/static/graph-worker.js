// The layout of the graph, apart from the page: after each step it sends the places of all nodes.
let simulation = null;

onmessage = ({ data }) => {
  if (data.libraries) {
    importScripts(...data.libraries);
    start(data);
  }
  if (data.stop) simulation?.stop();
};

function start({ count, source, target, weight }) {
  const nodes = Array.from({ length: count }, (_, index) => ({ index }));
  const links = Array.from(source, (from, n) => ({ source: from, target: target[n], weight: weight[n] }));
  const many = count > 1500;
  simulation = d3.forceSimulation(nodes)
    .force("charge", d3.forceManyBody().strength(many ? -14 : -40).theta(many ? 1.2 : 0.9))
    .force("link", d3.forceLink(links).distance(many ? 18 : 42).strength((link) => link.weight))
    .force("x", d3.forceX().strength(many ? 0.03 : 0.05))
    .force("y", d3.forceY().strength(many ? 0.03 : 0.05))
    .alphaDecay(many ? 0.03 : 0.025)
    .velocityDecay(0.45)
    .stop();
  const step = () => {
    const until = performance.now() + 24;
    do simulation.tick(); while (performance.now() < until && simulation.alpha() > simulation.alphaMin());
    const places = new Float32Array(2 * count);
    for (let n = 0; n < count; n += 1) {
      places[2 * n] = nodes[n].x;
      places[2 * n + 1] = nodes[n].y;
    }
    const done = simulation.alpha() <= simulation.alphaMin();
    postMessage({ places, done }, [places.buffer]);
    // The page draws between two steps, on machines with few cores too.
    if (!done) setTimeout(step, 8);
  };
  step();
}
