//! What joins a workspace: the tools of its MCP servers, which are started here and offered as they were told last.
//! What an agent works with stands in `equipment`, what a server is in the crate `mcp`.

use std::sync::{Arc, MutexGuard, PoisonError};

use store::Reason;
use tools::{NameClash, ToolSet};

use super::equipment::Equipment;
use super::error::redacted;
use super::workspace::Workspace;
use super::{StartupError, StartupErrorKind};

impl Workspace {
    /// What the primary agent works with when the tools of `joined` stand beside the workspace's own.
    ///
    /// # Errors
    /// [`NameClash`] when a name stands in both.
    fn equip(&self, joined: ToolSet) -> Result<Arc<Equipment>, NameClash> {
        let mut tools = self.equipment.tools.clone();
        tools.join(joined)?;
        let primary = self.guidance.primary.as_ref();
        let settings = self.settings();
        let equipment = Equipment::new(&self.cwd, &self.guidance, primary, tools, settings);
        Ok(Arc::new(equipment))
    }

    /// Starts the servers, unless they run: all of them or none. Gives what of their tools is left out.
    ///
    /// # Errors
    /// [`StartupErrorKind::McpUnavailable`] with every server that does not start, once the others are gone.
    pub(crate) async fn connect(&self) -> Result<Vec<Reason>, StartupError> {
        if self.servers.is_empty() {
            return Ok(Vec::new());
        }
        let connected = self.servers.connect().await;
        let left_out = connected.map_err(|reasons| StartupError {
            kind: StartupErrorKind::McpUnavailable,
            reasons: redacted(reasons, self.redactor()),
        })?;
        let left_out = redacted(left_out, self.redactor());
        for notice in &left_out {
            tracing::info!(%notice, "a tool of a server is left out");
        }
        Ok(left_out)
    }

    /// What the primary agent works with now: the servers' tools are those that they told last.
    pub(crate) async fn primary_equipment(&self) -> Arc<Equipment> {
        if self.servers.is_empty() {
            return Arc::clone(&self.equipment);
        }
        self.servers.refresh().await;
        let generation = self.servers.generation();
        if let Some((known, equipment)) = &*self.equipped()
            && *known == generation
        {
            return Arc::clone(equipment);
        }
        let Some(joined) = self.servers.tools(&self.cwd) else {
            return Arc::clone(&self.equipment);
        };
        let equipment = self.equip(joined).unwrap_or_else(|clash| {
            // No tool of ours has a name that one of theirs could have.
            tracing::error!(%clash, "the tools of servers do not join");
            Arc::clone(&self.equipment)
        });
        *self.equipped() = Some((generation, Arc::clone(&equipment)));
        equipment
    }

    fn equipped(&self) -> MutexGuard<'_, Option<(u64, Arc<Equipment>)>> {
        self.equipped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
