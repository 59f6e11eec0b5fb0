//! The call graph with the effects of its nodes, and the least fixpoint over it (language.md §15).
//! Must not know what a node is.

use super::set::EffectSet;

/// A function or a closure.
pub(crate) type Node = u32;

/// Nodes with their own effects and the nodes whose effects they take over.
///
/// §15 bounds the rounds of its fixpoint; here a set is passed on only when it grew, at most once for each of
/// the eight effects, so the work is linear in nodes and edges and no bound is needed.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    own: Vec<EffectSet>,
    edges: Vec<(Node, Node)>,
}

impl Graph {
    /// A new node with these effects.
    pub(crate) fn node(&mut self, own: EffectSet) -> Node {
        self.own.push(own);
        self.own.len() as Node - 1
    }

    /// Adds effects to a node.
    pub(crate) fn add(&mut self, node: Node, set: EffectSet) {
        self.own[node as usize] |= set;
    }

    /// `user` takes over the effects of `used`.
    pub(crate) fn edge(&mut self, user: Node, used: Node) {
        if user != used {
            self.edges.push((user, used));
        }
    }

    /// The nodes that `user` takes over from, in the order of the calls. Only after [`Self::solve`].
    pub(crate) fn used_by(&self, user: Node) -> impl Iterator<Item = Node> {
        let from = self.edges.partition_point(|(u, _)| *u < user);
        self.edges[from..]
            .iter()
            .take_while(move |(u, _)| *u == user)
            .map(|(_, n)| *n)
    }

    /// The effects of every node with those of all it uses.
    pub(crate) fn solve(&mut self) -> Vec<EffectSet> {
        self.edges.sort_by_key(|(u, _)| *u);
        let n = self.own.len();
        // Users by what they use, as one array with offsets.
        let mut start = vec![0_u32; n + 1];
        for (_, used) in &self.edges {
            start[*used as usize + 1] += 1;
        }
        for i in 0..n {
            start[i + 1] += start[i];
        }
        let mut users = vec![0 as Node; self.edges.len()];
        let mut next = start.clone();
        for (user, used) in &self.edges {
            let at = &mut next[*used as usize];
            users[*at as usize] = *user;
            *at += 1;
        }
        let mut sets = self.own.clone();
        let mut queued: Vec<bool> = sets.iter().map(|s| !s.is_empty()).collect();
        let mut work: Vec<Node> = (0..n as Node).filter(|i| queued[*i as usize]).collect();
        while let Some(used) = work.pop() {
            queued[used as usize] = false;
            let set = sets[used as usize];
            for user in &users[start[used as usize] as usize..start[used as usize + 1] as usize] {
                let at = &mut sets[*user as usize];
                if !at.covers(set) {
                    *at |= set;
                    if !std::mem::replace(&mut queued[*user as usize], true) {
                        work.push(*user);
                    }
                }
            }
        }
        sets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_flow_from_used_to_user_only() {
        let mut g = Graph::default();
        let top = g.node(EffectSet::SPAWN);
        let mid = g.node(EffectSet::EMPTY);
        let low = g.node(EffectSet::FS);
        g.edge(top, mid);
        g.edge(mid, low);
        let sets = g.solve();
        assert_eq!(
            sets,
            [
                EffectSet::SPAWN | EffectSet::FS,
                EffectSet::FS,
                EffectSet::FS
            ]
        );
        assert_eq!(g.used_by(top).collect::<Vec<_>>(), [mid]);
    }

    #[test]
    fn a_cycle_shares_its_effects() {
        let mut g = Graph::default();
        let a = g.node(EffectSet::NET);
        let b = g.node(EffectSet::ALLOC);
        let c = g.node(EffectSet::EMPTY);
        g.edge(a, b);
        g.edge(b, c);
        g.edge(c, a);
        g.edge(c, c);
        let both = EffectSet::NET | EffectSet::ALLOC;
        assert_eq!(g.solve(), [both, both, both]);
    }

    #[test]
    fn a_chain_longer_than_the_rounds_of_the_text_is_still_followed() {
        let mut g = Graph::default();
        let nodes: Vec<Node> = (0..200).map(|_| g.node(EffectSet::EMPTY)).collect();
        for pair in nodes.windows(2) {
            g.edge(pair[0], pair[1]);
        }
        g.add(nodes[199], EffectSet::DOM);
        assert_eq!(g.solve()[0], EffectSet::DOM);
    }

    proptest::proptest! {
        /// The worklist finds what plain rounds until nothing changes find.
        #[test]
        fn the_worklist_agrees_with_rounds(
            own in proptest::collection::vec(0_usize..9, 1..20),
            edges in proptest::collection::vec((0_u32..20, 0_u32..20), 0..60),
        ) {
            let effects = ["", "alloc", "net", "fs", "time", "dom", "model", "spawn", "unsafe"];
            let n = own.len() as Node;
            let mut g = Graph::default();
            let mut rounds: Vec<EffectSet> = Vec::new();
            for i in &own {
                let set = EffectSet::named(effects[*i]);
                g.node(set);
                rounds.push(set);
            }
            let edges: Vec<(Node, Node)> = edges.into_iter().map(|(a, b)| (a % n, b % n)).collect();
            for (a, b) in &edges {
                g.edge(*a, *b);
            }
            loop {
                let before = rounds.clone();
                for (a, b) in &edges {
                    let set = rounds[*b as usize];
                    rounds[*a as usize] |= set;
                }
                if before == rounds {
                    break;
                }
            }
            proptest::prop_assert_eq!(g.solve(), rounds);
        }
    }
}
